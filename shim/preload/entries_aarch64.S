/* AArch64: one entry per driver function, and dlsym and dlvsym. The same shape as entries_x86_64.S, which says why. */
#include "shim/preload/entry_layout.h"

        .text
        .hidden vg_core_functions
        .globl  vg_entries
        .hidden vg_entries

        .macro entry symbol
        .balign VG_ENTRY_BYTES
        .globl  \symbol
        .type   \symbol, %function
\symbol:
        .cfi_startproc
        hint    #34                     /* bti c */
        adrp    x16, vg_core_functions
        ldr     x16, [x16, :lo12:vg_core_functions]
        cbz     x16, 1f
        ldr     x16, [x16, #(8 * index)]
        br      x16
1:      mov     w17, #index
        b       vg_boot_entry
        .cfi_endproc
        .size   \symbol, . - \symbol
        .set    index, index + 1
        .endm

        .set    index, 0
        .balign VG_ENTRY_BYTES
vg_entries:
#define VG_DRIVER_FUNCTION(symbol, since, parameters) entry symbol
#define VG_NVML_FUNCTION VG_DRIVER_FUNCTION
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
        .balign VG_ENTRY_BYTES

/* Asks vg_boot where entry w17 leads for now, and goes there with the caller's arguments. */
        .type   vg_boot_entry, %function
vg_boot_entry:
        .cfi_startproc
        stp     x29, x30, [sp, #-96]!
        .cfi_adjust_cfa_offset 96
        .cfi_offset x29, -96
        .cfi_offset x30, -88
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        str     x8, [sp, #80]
        mov     w0, w17
        bl      vg_boot
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldr     x8, [sp, #80]
        ldp     x29, x30, [sp], #96
        .cfi_adjust_cfa_offset -96
        .cfi_restore x29
        .cfi_restore x30
        br      x16
        .cfi_endproc
        .size   vg_boot_entry, . - vg_boot_entry

        .macro look_up symbol, version_register
        .type   \symbol, %function
\symbol:
        .cfi_startproc
        hint    #34                     /* bti c */
        stp     x29, x30, [sp, #-48]!
        .cfi_adjust_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        stp     x0, x1, [sp, #16]
        str     x2, [sp, #32]
        mov     x3, \version_register
        mov     x2, x30
        bl      vg_filter
        mov     x16, x1
        mov     x17, x0
        ldp     x0, x1, [sp, #16]
        ldr     x2, [sp, #32]
        ldp     x29, x30, [sp], #48
        .cfi_adjust_cfa_offset -48
        .cfi_restore x29
        .cfi_restore x30
        cbnz    x17, 1f
        br      x16
1:      mov     x0, x16
        ret
        .cfi_endproc
        .size   \symbol, . - \symbol
        .endm

        .balign 16
        look_up vg_dlsym, xzr
        .balign 16
        look_up vg_dlvsym, x2

        .macro versioned name, old, target
        .globl  \target\()_old
        .globl  \target\()_new
        .type   \target\()_old, %function
        .type   \target\()_new, %function
        .set    \target\()_old, \target
        .set    \target\()_new, \target
        .symver \target\()_old, \name@\old, remove
        .symver \target\()_new, \name@@GLIBC_2.34, remove
        .endm

        versioned dlsym, GLIBC_2.17, vg_dlsym
        versioned dlvsym, GLIBC_2.17, vg_dlvsym

        .section .note.GNU-stack, "", %progbits

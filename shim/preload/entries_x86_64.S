/* x86-64: one entry per driver function, and dlsym and dlvsym.
 *
 * An entry jumps to the core's wrapper with the caller's arguments and return address untouched. Its first 16 bytes are
 * straight code: programs that patch the functions they were given in place write there. */
#include "shim/preload/entry_layout.h"

        .text
        .hidden vg_core_functions
        .globl  vg_entries
        .hidden vg_entries

        .macro entry symbol
        .balign VG_ENTRY_BYTES
        .globl  \symbol
        .type   \symbol, @function
\symbol:
        .cfi_startproc
        endbr64
        movq    vg_core_functions(%rip), %r11
        testq   %r11, %r11
        jz      1f
        jmpq    *(8 * index)(%r11)
1:      movl    $index, %r11d
        jmp     vg_boot_entry
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

/* Asks vg_boot where entry %r11d leads for now, and goes there with the caller's arguments. */
        .type   vg_boot_entry, @function
vg_boot_entry:
        .cfi_startproc
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        pushq   %rcx
        .cfi_adjust_cfa_offset 8
        pushq   %r8
        .cfi_adjust_cfa_offset 8
        pushq   %r9
        .cfi_adjust_cfa_offset 8
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        movl    %r11d, %edi
        call    vg_boot
        movq    %rax, %r11
        popq    %rax
        .cfi_adjust_cfa_offset -8
        popq    %r9
        .cfi_adjust_cfa_offset -8
        popq    %r8
        .cfi_adjust_cfa_offset -8
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmpq    *%r11
        .cfi_endproc
        .size   vg_boot_entry, . - vg_boot_entry

/* dlsym(handle, name) and dlvsym(handle, name, version). A C function that called the next dlsym would become its
 * caller, and RTLD_NEXT would mean something else. So: ask the filter, then return its answer or jump. */
        .macro look_up symbol, version_register
        .type   \symbol, @function
\symbol:
        .cfi_startproc
        endbr64
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        \version_register
        movq    24(%rsp), %rdx
        call    vg_filter
        movq    %rdx, %r11
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        testq   %rax, %rax
        movq    %r11, %rax
        jnz     1f
        jmpq    *%r11
1:      ret
        .cfi_endproc
        .size   \symbol, . - \symbol
        .endm

        .balign 16
        look_up vg_dlsym, "xorl %ecx, %ecx"
        .balign 16
        look_up vg_dlvsym, "movq %rdx, %rcx"

/* Both versions: programs linked on an old glibc bind the first, those of glibc 2.34 and later the second. */
        .macro versioned name, old, target
        .globl  \target\()_old
        .globl  \target\()_new
        .type   \target\()_old, @function
        .type   \target\()_new, @function
        .set    \target\()_old, \target
        .set    \target\()_new, \target
        .symver \target\()_old, \name@\old, remove
        .symver \target\()_new, \name@@GLIBC_2.34, remove
        .endm

        versioned dlsym, GLIBC_2.2.5, vg_dlsym
        versioned dlvsym, GLIBC_2.2.5, vg_dlvsym

        .section .note.GNU-stack, "", @progbits
        .section .note.gnu.property, "a"
        .balign 8
        .long   4, 16, 5                /* a GNU property note of 16 bytes: */
        .asciz  "GNU"
        .long   0xc0000002, 4, 3, 0     /* x86 features: indirect branch tracking and shadow stack */

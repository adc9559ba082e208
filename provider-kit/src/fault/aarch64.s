// Copies that report a fault, for AArch64; see x86_64.s. The address of the fault is in x0. The return address of
// memmove is in x30.
//
// Other processors may see these stores in any order.

    .section .text.dat_kit_copy,"ax",@progbits
    .globl dat_kit_copy, dat_kit_fetch_add, dat_kit_compare_swap, dat_kit_leave, dat_kit_copied
    .hidden dat_kit_copy, dat_kit_fetch_add, dat_kit_compare_swap, dat_kit_leave, dat_kit_copied
    .hidden __start_dat_kit_faults, __stop_dat_kit_faults
    .p2align 6
dat_kit_begin:

// x0: to, x1: from, x2: length
    .type dat_kit_copy,%function
dat_kit_copy:
    .cfi_startproc
    add x3, x1, x2
    add x4, x0, x2
    cmp x2, 64
    b.hi 65f
    cmp x2, 32
    b.hs 32f
    cmp x2, 16
    b.hs 16f
    cmp x2, 8
    b.hs 8f
    cmp x2, 4
    b.hs 4f
    cbz x2, dat_kit_done
    cmp x2, 1
    b.hi 2f
    ldrb w5, [x1]
    strb w5, [x0]
dat_kit_done:
    mov x0, 0
dat_kit_return:
    ret
2:  ldrh w5, [x1]
    ldrb w6, [x3, -1]
    strh w5, [x0]
    strb w6, [x4, -1]
    mov x0, 0
    ret
4:  ldr w5, [x1]
    ldr w6, [x3, -4]
    str w5, [x0]
    str w6, [x4, -4]
    mov x0, 0
    ret
8:  ldr x5, [x1]
    ldr x6, [x3, -8]
    str x5, [x0]
    str x6, [x4, -8]
    mov x0, 0
    ret
16: ldr q0, [x1]
    ldr q1, [x3, -16]
    str q0, [x0]
    str q1, [x4, -16]
    mov x0, 0
    ret
32: ldp q0, q1, [x1]
    ldp q2, q3, [x3, -32]
    stp q0, q1, [x0]
    stp q2, q3, [x4, -32]
    mov x0, 0
    ret
65: cmp x2, 128
    b.hi 129f
    ldp q0, q1, [x1]
    ldp q2, q3, [x1, 32]
    ldp q4, q5, [x3, -64]
    ldp q6, q7, [x3, -32]
    stp q0, q1, [x0]
    stp q2, q3, [x0, 32]
    stp q4, q5, [x4, -64]
    stp q6, q7, [x4, -32]
    mov x0, 0
    ret
129:
    stp x29, x30, [sp, -16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    bl memmove
dat_kit_copied:
    mov x0, 0
dat_kit_leave:
    ldp x29, x30, [sp], 16
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size dat_kit_copy, . - dat_kit_copy

// x0: the word, x1: what to add, x2: where its previous value goes
    .type dat_kit_fetch_add,%function
dat_kit_fetch_add:
    .cfi_startproc
1:  ldaxr x3, [x0]
    add x4, x3, x1
    stlxr w5, x4, [x0]
    cbnz w5, 1b
    dmb ish
    str x3, [x2]
    mov x0, 0
    ret
    .cfi_endproc
    .size dat_kit_fetch_add, . - dat_kit_fetch_add

// x0: the word, x1: what it must be, x2: its next value, x3: where its previous value goes
    .type dat_kit_compare_swap,%function
dat_kit_compare_swap:
    .cfi_startproc
1:  ldaxr x4, [x0]
    cmp x4, x1
    csel x6, x2, x4, eq
    stlxr w5, x6, [x0]
    cbnz w5, 1b
    dmb ish
    str x4, [x3]
    mov x0, 0
    ret
    .cfi_endproc
    .size dat_kit_compare_swap, . - dat_kit_compare_swap
dat_kit_end:

    .section dat_kit_faults,"aR",%progbits
    .balign 4
    .word dat_kit_begin - .
    .word dat_kit_end - .
    .word dat_kit_return - .
    .text

# Copies that report a fault, for 64-bit RISC-V; see x86_64.s. The address of the fault is in a0. All code is short:
# memmove of the C library may have a frame of its own, so it is not called.
#
# Loads may be misaligned, which Linux supports in user space; stores of loops are aligned. Other processors may see the
# stores in any order.

    # Rust assembles it for the smallest processor, whatever its target has.
    .option push
    .option arch, +a
    .section .text.dat_kit_copy,"ax",@progbits
    .globl dat_kit_copy, dat_kit_fetch_add, dat_kit_compare_swap
    .hidden dat_kit_copy, dat_kit_fetch_add, dat_kit_compare_swap
    .hidden __start_dat_kit_faults, __stop_dat_kit_faults
    .p2align 6
dat_kit_begin:

# a0: to, a1: from, a2: length
    .type dat_kit_copy,@function
dat_kit_copy:
    .cfi_startproc
    add a3, a1, a2
    add a4, a0, a2
    li a5, 8
    bltu a2, a5, 7f
    li a5, 16
    bgtu a2, a5, 17f
    # 8 to 16 bytes
    ld t0, 0(a1)
    ld t1, -8(a3)
    sd t0, 0(a0)
    sd t1, -8(a4)
    li a0, 0
    ret
7:  li a5, 4
    bltu a2, a5, 3f
    lw t0, 0(a1)
    lw t1, -4(a3)
    sw t0, 0(a0)
    sw t1, -4(a4)
    li a0, 0
    ret
3:  beqz a2, dat_kit_done
    # 1 to 3 bytes: the first, the middle and the last one
    srli a5, a2, 1
    add a6, a1, a5
    add a7, a0, a5
    lbu t0, 0(a1)
    lbu t1, 0(a6)
    lbu t2, -1(a3)
    sb t0, 0(a0)
    sb t1, 0(a7)
    sb t2, -1(a4)
dat_kit_done:
    li a0, 0
dat_kit_return:
    ret

# More than 16 bytes: the first and the last 8 are loaded before the loop and stored after it, so the loop stores whole
# aligned words between them.
17: ld t0, 0(a1)
    ld t1, -8(a3)
    sub a5, a0, a1
    bltu a5, a2, 5f
    # Upwards, because the target does not begin inside of the source.
    addi a6, a0, 7
    andi a6, a6, -8
    sub a7, a6, a0
    add a7, a1, a7
    addi t2, a4, -32
    bgtu a6, t2, 2f
1:  ld t3, 0(a7)
    ld t4, 8(a7)
    ld t5, 16(a7)
    ld t6, 24(a7)
    sd t3, 0(a6)
    sd t4, 8(a6)
    sd t5, 16(a6)
    sd t6, 24(a6)
    addi a6, a6, 32
    addi a7, a7, 32
    bleu a6, t2, 1b
2:  addi t2, a4, -8
    bgtu a6, t2, 4f
    ld t3, 0(a7)
    sd t3, 0(a6)
    addi a6, a6, 8
    addi a7, a7, 8
    j 2b
4:  sd t0, 0(a0)
    sd t1, -8(a4)
    li a0, 0
    ret
5:  # Downwards.
    andi a6, a4, -8
    sub a7, a4, a6
    sub a7, a3, a7
    addi t2, a0, 32
    bltu a6, t2, 6f
1:  ld t3, -8(a7)
    ld t4, -16(a7)
    ld t5, -24(a7)
    ld t6, -32(a7)
    sd t3, -8(a6)
    sd t4, -16(a6)
    sd t5, -24(a6)
    sd t6, -32(a6)
    addi a6, a6, -32
    addi a7, a7, -32
    bgeu a6, t2, 1b
6:  addi t2, a0, 8
    bltu a6, t2, 4b
    ld t3, -8(a7)
    sd t3, -8(a6)
    addi a6, a6, -8
    addi a7, a7, -8
    j 6b
    .cfi_endproc
    .size dat_kit_copy, . - dat_kit_copy

# a0: the word, a1: what to add, a2: where its previous value goes
    .type dat_kit_fetch_add,@function
dat_kit_fetch_add:
    .cfi_startproc
    amoadd.d.aqrl a3, a1, (a0)
    sd a3, 0(a2)
    li a0, 0
    ret
    .cfi_endproc
    .size dat_kit_fetch_add, . - dat_kit_fetch_add

# a0: the word, a1: what it must be, a2: its next value, a3: where its previous value goes
    .type dat_kit_compare_swap,@function
dat_kit_compare_swap:
    .cfi_startproc
1:  lr.d.aqrl a4, (a0)
    bne a4, a1, 2f
    sc.d.rl a5, a2, (a0)
    bnez a5, 1b
2:  sd a4, 0(a3)
    li a0, 0
    ret
    .cfi_endproc
    .size dat_kit_compare_swap, . - dat_kit_compare_swap
dat_kit_end:

    .section dat_kit_faults,"aR",@progbits
    .balign 4
    .word dat_kit_begin - .
    .word dat_kit_end - .
    .word dat_kit_return - .
    .text
    .option pop

# Copies that report a fault, for x86-64. The handler in handler.rs knows two kinds of code here.
#
# Short code pushes nothing. The section dat_kit_faults has three offsets for each piece of it: of its begin, of its
# end, and of the place where it goes on after a fault, with the address of the fault in rax.
#
# Long code calls memmove, which pushes nothing and has changed no register that it must preserve, so that after
# a fault in it the return address is on top of the stack: dat_kit_copied or dat_kit_copied_in_order. Long code
# goes on at dat_kit_leave then, without the return address, and with the address of the fault in rax.
#
# Short code loads everything before it stores anything, because the ranges may overlap, and stores the last
# bytes last.

    .section .text.dat_kit_copy,"ax",@progbits
    .globl dat_kit_copy, dat_kit_copy_long_in_order, dat_kit_fetch_add, dat_kit_compare_swap
    .hidden dat_kit_copy, dat_kit_copy_long_in_order, dat_kit_fetch_add, dat_kit_compare_swap
    .globl dat_kit_leave, dat_kit_copied, dat_kit_copied_in_order
    .hidden dat_kit_leave, dat_kit_copied, dat_kit_copied_in_order
    .hidden __start_dat_kit_faults, __stop_dat_kit_faults
    .p2align 6
dat_kit_begin:

# rdi: to, rsi: from, rdx: length
    .type dat_kit_copy,@function
dat_kit_copy:
    .cfi_startproc
    cmp rdx, 64
    ja 65f
    cmp edx, 32
    jae 32f
    cmp edx, 16
    jae 16f
    cmp edx, 8
    jae 8f
    cmp edx, 4
    jae 4f
    cmp edx, 1
    ja 2f
    jb dat_kit_done
    movzx eax, byte ptr [rsi]
    mov [rdi], al
dat_kit_done:
    xor eax, eax
dat_kit_return:
    ret
2:  movzx eax, word ptr [rsi]
    movzx ecx, byte ptr [rsi + rdx - 1]
    mov [rdi], ax
    mov [rdi + rdx - 1], cl
    xor eax, eax
    ret
4:  mov eax, [rsi]
    mov ecx, [rsi + rdx - 4]
    mov [rdi], eax
    mov [rdi + rdx - 4], ecx
    xor eax, eax
    ret
8:  mov rax, [rsi]
    mov rcx, [rsi + rdx - 8]
    mov [rdi], rax
    mov [rdi + rdx - 8], rcx
    xor eax, eax
    ret
16: movdqu xmm0, [rsi]
    movdqu xmm1, [rsi + rdx - 16]
    movdqu [rdi], xmm0
    movdqu [rdi + rdx - 16], xmm1
    xor eax, eax
    ret
32: movdqu xmm0, [rsi]
    movdqu xmm1, [rsi + 16]
    movdqu xmm2, [rsi + rdx - 32]
    movdqu xmm3, [rsi + rdx - 16]
    movdqu [rdi], xmm0
    movdqu [rdi + 16], xmm1
    movdqu [rdi + rdx - 32], xmm2
    movdqu [rdi + rdx - 16], xmm3
    xor eax, eax
    ret
65: cmp rdx, 128
    jbe 66f
    sub rsp, 24
    .cfi_adjust_cfa_offset 24
    call memmove@PLT
dat_kit_copied:
    xor eax, eax
# The frame of all long code.
dat_kit_leave:
    add rsp, 24
    .cfi_adjust_cfa_offset -24
    ret
66:
    movdqu xmm0, [rsi]
    movdqu xmm1, [rsi + 16]
    movdqu xmm2, [rsi + 32]
    movdqu xmm3, [rsi + 48]
    movdqu xmm4, [rsi + rdx - 64]
    movdqu xmm5, [rsi + rdx - 48]
    movdqu xmm6, [rsi + rdx - 32]
    movdqu xmm7, [rsi + rdx - 16]
    movdqu [rdi], xmm0
    movdqu [rdi + 16], xmm1
    movdqu [rdi + 32], xmm2
    movdqu [rdi + 48], xmm3
    movdqu [rdi + rdx - 64], xmm4
    movdqu [rdi + rdx - 48], xmm5
    movdqu [rdi + rdx - 32], xmm6
    movdqu [rdi + rdx - 16], xmm7
    xor eax, eax
    ret
    .cfi_endproc
    .size dat_kit_copy, . - dat_kit_copy

# As dat_kit_copy, for more than 128 bytes.
    .type dat_kit_copy_long_in_order,@function
dat_kit_copy_long_in_order:
    .cfi_startproc
    sub rdx, 8
    mov rax, [rsi + rdx]
    lea rcx, [rdi + rdx]
    sub rsp, 24
    .cfi_adjust_cfa_offset 24
    mov [rsp], rax
    mov [rsp + 8], rcx
    call memmove@PLT
dat_kit_copied_in_order:
    mov rcx, [rsp]
    mov rdx, [rsp + 8]
    add rsp, 24
    .cfi_adjust_cfa_offset -24
    mov [rdx], rcx
    xor eax, eax
    ret
    .cfi_endproc
    .size dat_kit_copy_long_in_order, . - dat_kit_copy_long_in_order

# rdi: the word, rsi: what to add, rdx: where its previous value goes
    .type dat_kit_fetch_add,@function
dat_kit_fetch_add:
    .cfi_startproc
    lock xadd [rdi], rsi
    mov [rdx], rsi
    xor eax, eax
    ret
    .cfi_endproc
    .size dat_kit_fetch_add, . - dat_kit_fetch_add

# rdi: the word, rsi: what it must be, rdx: its next value, rcx: where its previous value goes
    .type dat_kit_compare_swap,@function
dat_kit_compare_swap:
    .cfi_startproc
    mov rax, rsi
    lock cmpxchg [rdi], rdx
    mov [rcx], rax
    xor eax, eax
    ret
    .cfi_endproc
    .size dat_kit_compare_swap, . - dat_kit_compare_swap
dat_kit_end:

    .section dat_kit_faults,"aR",@progbits
    .balign 4
    .long dat_kit_begin - .
    .long dat_kit_end - .
    .long dat_kit_return - .
    .text

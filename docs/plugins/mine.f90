! mine: a plug-in in Fortran.
!
!   gfortran -O3 -fopenmp -shared -fPIC -o mine.so mine.f90
!   attnbench check --plugin ./mine.so --kernel mine_fortran
!
! With an -march, isa below is the number of what it allows in attention.h's attn_isa: x86-64-v4 is avx512, 2.
!
! The types repeat those of attention.h, as far as this kernel needs them: a struct may end early, if
! its size says so.  What that header computes inline (mask, KV head, address of a row) is written out.
module mine
  use, intrinsic :: iso_c_binding
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan
  implicit none

  integer(c_int), parameter :: f32 = 0, baseline = 0, causal = 1, output_o = 1

  type, bind(c) :: attn_problem
    integer(c_size_t) :: size
    integer(c_size_t) :: batch, q_heads, kv_heads, q_len, kv_len, qk_dim, v_dim
    integer(c_int) :: dtype, kv_dtype, layout, pass, outputs, mask, options
    real(c_float) :: scale, softcap
    integer(c_ptrdiff_t) :: window_left, window_right
    integer(c_size_t) :: page_size
  end type

  type, bind(c) :: attn_tensor
    type(c_ptr) :: data
    integer(c_int) :: dtype
    integer(c_ptrdiff_t) :: stride(4)
  end type

  type, bind(c) :: attn_tensors
    integer(c_size_t) :: size
    type(attn_tensor) :: q, k, v, o
  end type

  type, bind(c) :: attn_plan
    integer(c_size_t) :: size
    type(c_ptr) :: kernel
    integer(c_int) :: threads
    type(c_ptr) :: workspace
    integer(c_size_t) :: workspace_bytes
    type(c_ptr) :: state, reserved(4)
    type(attn_problem) :: problem
  end type

  type, bind(c) :: attn_caps
    integer(c_size_t) :: size = 0
    integer(c_int) :: dtypes = 0, kv_dtypes = 0, masks = 0, options = 0, outputs = 0
    logical(c_bool) :: forward = .false., backward = .false., parallel = .false., varies = .false.
    integer(c_size_t) :: max_dim = 0
    integer(c_int) :: compute = f32
    real(c_double) :: bound_factor = 0
    type(c_ptr) :: bound_reason = c_null_ptr
  end type

  type, bind(c) :: attn_kernel
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr, summary = c_null_ptr, source = c_null_ptr
    integer(c_int) :: isa = baseline
    type(c_funptr) :: supports = c_null_funptr, workspace_size = c_null_funptr
    type(c_funptr) :: prepare = c_null_funptr, execute = c_null_funptr, destroy = c_null_funptr
    type(c_funptr) :: reserved(4) = c_null_funptr
    type(attn_caps) :: caps
  end type

  character(kind=c_char, len=*), parameter :: end_of_text = c_null_char
  character(kind=c_char, len=16), target, save :: name = 'mine_fortran' // end_of_text
  character(kind=c_char, len=48), target, save :: summary = &
    'every score computed twice, in Fortran' // end_of_text
  character(kind=c_char, len=32), target, save :: source = 'docs/plugins/mine.f90' // end_of_text

contains

  ! Where row (b, h, i) of a tensor begins, from 0 as everything here.
  pure function row_at(t, b, h, i) result(at)
    type(attn_tensor), intent(in) :: t
    integer(c_size_t), intent(in) :: b, h, i
    integer(c_ptrdiff_t) :: at
    at = b * t%stride(1) + h * t%stride(2) + i * t%stride(3)
  end function

  ! All elements of a tensor of n(1) x n(2) x n(3) rows, as far as they lie apart.
  subroutine elements(t, n, length, x)
    type(attn_tensor), intent(in) :: t
    integer(c_size_t), intent(in) :: n(3), length
    real(c_float), pointer, intent(out) :: x(:)
    real(c_float), pointer :: from_one(:)
    call c_f_pointer(t%data, from_one, [row_at(t, n(1) - 1, n(2) - 1, n(3) - 1) + length])
    x(0:) => from_one
  end subroutine

  ! One query: the maximum of its scores first, then the exponentials and their weighted sum.  The scale
  ! is on q: a product with the sum would be fused with the subtraction of the maximum, which then
  ! leaves of the largest score what rounding took from it.
  subroutine query(p, t, q, k, v, o, b, h, i)
    type(attn_problem), intent(in) :: p
    type(attn_tensors), intent(in) :: t
    real(c_float), intent(in) :: q(0:), k(0:), v(0:)
    real(c_float), intent(inout) :: o(0:)
    integer(c_size_t), intent(in) :: b, h, i
    integer(c_size_t) :: g, j, seen
    integer(c_ptrdiff_t) :: from, key, to
    real(c_float) :: m, l, x, weight, scale

    scale = p%scale
    if (scale == 0) scale = real(1 / sqrt(real(p%qk_dim, c_double)), c_float)
    seen = p%kv_len
    if (iand(p%mask, causal) /= 0) seen = max(0_c_size_t, min(seen, i + p%kv_len - p%q_len + 1))
    g = h / (p%q_heads / p%kv_heads)
    from = row_at(t%q, b, h, i)
    to = row_at(t%o, b, h, i)
    m = -huge(m)
    do j = 0, seen - 1
      key = row_at(t%k, b, g, j)
      x = dot_product(scale * q(from:from + p%qk_dim - 1), k(key:key + p%qk_dim - 1))
      if (x > m .or. ieee_is_nan(x)) m = x
    end do
    l = 0
    o(to:to + p%v_dim - 1) = 0
    do j = 0, seen - 1
      key = row_at(t%k, b, g, j)
      x = dot_product(scale * q(from:from + p%qk_dim - 1), k(key:key + p%qk_dim - 1))
      weight = exp(x - m)
      l = l + weight
      key = row_at(t%v, b, g, j)
      o(to:to + p%v_dim - 1) = o(to:to + p%v_dim - 1) + weight * v(key:key + p%v_dim - 1)
    end do
    if (l /= 0) o(to:to + p%v_dim - 1) = o(to:to + p%v_dim - 1) / l
  end subroutine

  subroutine execute(plan, t) bind(c)
    type(attn_plan), intent(in) :: plan
    type(attn_tensors), intent(in) :: t
    real(c_float), pointer :: q(:), k(:), v(:), o(:)
    integer(c_size_t) :: b, h, i

    associate (p => plan%problem)
      call elements(t%q, [p%batch, p%q_heads, p%q_len], p%qk_dim, q)
      call elements(t%k, [p%batch, p%kv_heads, p%kv_len], p%qk_dim, k)
      call elements(t%v, [p%batch, p%kv_heads, p%kv_len], p%v_dim, v)
      call elements(t%o, [p%batch, p%q_heads, p%q_len], p%v_dim, o)
      !$omp parallel do collapse(3) num_threads(plan%threads)
      do b = 0, p%batch - 1
        do h = 0, p%q_heads - 1
          do i = 0, p%q_len - 1
            call query(p, t, q, k, v, o, b, h, i)
          end do
        end do
      end do
    end associate
  end subroutine

  function attn_plugin(count) result(kernels) bind(c)
    integer(c_size_t), intent(out) :: count
    type(c_ptr) :: kernels
    type(attn_kernel), target, save :: kernel
    type(c_ptr), target, save :: list(1)

    kernel%size = c_sizeof(kernel)
    kernel%name = c_loc(name)
    kernel%summary = c_loc(summary)
    kernel%source = c_loc(source)
    kernel%execute = c_funloc(execute)
    kernel%caps%size = c_sizeof(kernel%caps)
    kernel%caps%dtypes = ishft(1_c_int, f32)
    kernel%caps%masks = causal
    kernel%caps%outputs = output_o
    kernel%caps%forward = .true.
    kernel%caps%parallel = .true.
    list(1) = c_loc(kernel)
    count = 1
    kernels = c_loc(list)
  end function
end module

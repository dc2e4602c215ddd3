# attnbench_options: warnings and language rules for every target.

add_library(attnbench_options INTERFACE)
target_compile_options(attnbench_options INTERFACE -Wall -Wextra -Wshadow -Wpointer-arith
                                                   -Wstrict-prototypes -Wvla
                                                   -Wmissing-prototypes)
# Vectors wider than the baseline ISA pass between static functions only, which are all inlined.
target_compile_options(attnbench_options INTERFACE -Wno-psabi)
# No -ffast-math anywhere; contraction to FMA is allowed and changes no semantics we promise.
# errno of libm and trapping arithmetic are never looked at.
target_compile_options(attnbench_options INTERFACE -ffp-contract=fast -fno-math-errno
                                                   -fno-trapping-math)
if(ATTNBENCH_WERROR)
  target_compile_options(attnbench_options INTERFACE -Werror)
endif()
# Linked behind attnbench_options, for what is the judge of a test and not what it judges.
add_library(attnbench_unsanitized INTERFACE)
if(ATTNBENCH_SANITIZE)
  target_compile_options(attnbench_unsanitized INTERFACE -fno-sanitize=all)
  target_compile_options(attnbench_options INTERFACE -fsanitize=address,undefined
                                                     -fno-sanitize-recover=undefined
                                                     -fno-omit-frame-pointer)
  target_link_options(attnbench_options INTERFACE -fsanitize=address,undefined)
endif()
if(ATTNBENCH_RACES)
  target_compile_options(attnbench_unsanitized INTERFACE -fno-sanitize=all)
  target_compile_options(attnbench_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(attnbench_options INTERFACE -fsanitize=thread)
endif()

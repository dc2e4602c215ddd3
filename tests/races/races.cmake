# A kernel with a race that no result shows, and one without; in every build they pass the check.
add_library(table_kernels STATIC races/lazy_table.c races/filled_table.c $<TARGET_OBJECTS:honest_steps>)
target_include_directories(table_kernels PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(table_kernels PUBLIC harness OpenMP::OpenMP_C m PRIVATE attnbench_options)
test_program(races/shared_table target)
target_link_libraries(${target} PRIVATE table_kernels)
if(NOT ATTNBENCH_RACES)
  foreach(kernel lazy_table filled_table)
    add_test(NAME races/${kernel} COMMAND ${target} ${kernel})
  endforeach()
  return()
endif()

# ThreadSanitizer sees the code that it compiled; Archer, which LLVM's OpenMP loads, tells it which
# threads wait for which.  What else of OpenMP's own code it sees is none of its business.
find_library(ATTNBENCH_ARCHER archer HINTS /usr/lib/llvm-14/lib REQUIRED)
set(race_environment TSAN_OPTIONS=ignore_noninstrumented_modules=1
                     OMP_TOOL_LIBRARIES=${ATTNBENCH_ARCHER})

# The race is reported, its twin is not.  Without Archer the twin is: its silence is Archer's doing.
set(reported "ThreadSanitizer: data race[^=]*/races/")
add_test(NAME races/lazy_table COMMAND ${target} lazy_table)
set_tests_properties(races/lazy_table PROPERTIES ENVIRONMENT "${race_environment}"
                     PASS_REGULAR_EXPRESSION "${reported}lazy_table.c"
                     FAIL_REGULAR_EXPRESSION "FAILED") # the check, which is to see nothing
add_test(NAME races/filled_table COMMAND ${target} filled_table)
set_tests_properties(races/filled_table PROPERTIES ENVIRONMENT "${race_environment}"
                     FAIL_REGULAR_EXPRESSION "ThreadSanitizer")
add_test(NAME races/without_archer COMMAND ${target} filled_table)
set_tests_properties(races/without_archer PROPERTIES
                     ENVIRONMENT "${race_environment};ARCHER_OPTIONS=enable=0"
                     PASS_REGULAR_EXPRESSION "${reported}shared_table.h")

attnbench_kernel_test(races/kernels)
get_property(variants GLOBAL PROPERTY ATTN_VARIANTS)
foreach(variant IN LISTS variants)
  set_tests_properties(races/kernels/${variant} PROPERTIES ENVIRONMENT "${race_environment}")
endforeach()

# The C examples of README.md as sources, so that they are compiled and run as they stand there.

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md)
file(READ ${PROJECT_SOURCE_DIR}/README.md readme)
set(fence "```")

# attnbench_readme_example(NUMBER OUT): path of the NUMBERth fenced block of C, from 1.
function(attnbench_readme_example number out)
  set(rest "${readme}")
  foreach(skipped RANGE 1 ${number})
    string(FIND "${rest}" "${fence}c\n" begin)
    if(begin EQUAL -1)
      message(FATAL_ERROR "README.md has no C example number ${number}")
    endif()
    math(EXPR begin "${begin} + 5")
    string(SUBSTRING "${rest}" ${begin} -1 rest)
  endforeach()
  string(FIND "${rest}" "${fence}" end)
  string(SUBSTRING "${rest}" 0 ${end} example)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/readme_${number}.c)
  file(CONFIGURE OUTPUT ${path} CONTENT "${example}" @ONLY)
  set(${out} ${path} PARENT_SCOPE)
endfunction()

# The C examples of README.md and docs/ as sources, so that they are compiled and run as they stand
# there.

# attnbench_example(FILE NUMBER OUT): path of the NUMBERth fenced block of C of a page, from 1.
function(attnbench_example file number out)
  set(page ${PROJECT_SOURCE_DIR}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
  file(READ ${page} rest)
  set(fence "```")
  foreach(skipped RANGE 1 ${number})
    string(FIND "${rest}" "${fence}c\n" begin)
    if(begin EQUAL -1)
      message(FATAL_ERROR "${file} has no C example number ${number}")
    endif()
    math(EXPR begin "${begin} + 5")
    string(SUBSTRING "${rest}" ${begin} -1 rest)
  endforeach()
  string(FIND "${rest}" "${fence}" end)
  string(SUBSTRING "${rest}" 0 ${end} example)
  get_filename_component(stem ${file} NAME_WE)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/example_${stem}_${number}.c)
  file(CONFIGURE OUTPUT ${path} CONTENT "${example}" @ONLY)
  set(${out} ${path} PARENT_SCOPE)
endfunction()

# THE LIST of built-in suites, in the order of `attnbench list`: suites/NAME.suite, whose first line is
# a comment, the suite's summary.  They become part of the program: suites_list.h has
# SUITE(name, summary, byte...) per file; bytes, because a string literal may have 4095 at most.
set(suites quick default prefill gqa decode short tiny layer rivals masks serving conformance invariance)

set(suite_entries "")
foreach(name IN LISTS suites)
  set(file ${PROJECT_SOURCE_DIR}/suites/${name}.suite)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  if(NOT text MATCHES "^# ([^\n\"\\]+)\n")
    message(FATAL_ERROR "${file}: the first line must be `# ` and the suite's summary, "
                        "without quotes and backslashes")
  endif()
  set(summary "${CMAKE_MATCH_1}")
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" ",0x\\1" bytes "${bytes}")
  string(APPEND suite_entries "SUITE(${name}, \"${summary}\"${bytes})\n")
endforeach()
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/suites_list.h CONTENT "${suite_entries}")

# The models: their file's bytes.
set(file ${PROJECT_SOURCE_DIR}/suites/models.list)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
file(READ ${file} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/models_list.h CONTENT "${bytes}\n")

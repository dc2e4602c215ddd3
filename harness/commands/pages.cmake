# At installation: manual pages and completions, as the program that is installed prints them.
# `program` is its command, `to` the folder of data files.
function(print file)
  execute_process(COMMAND ${program} ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE "${to}/${file}" "${text}")
  message(STATUS "Installing: ${to}/${file}")
endfunction()

set(to "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${to}")
print(man/man1/attnbench.1 help --man)
execute_process(COMMAND ${program} complete "" OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[a-z]+" commands "${commands}")
foreach(command IN LISTS commands)
  string(STRIP ${command} command)
  print(man/man1/attnbench-${command}.1 help ${command} --man)
endforeach()
print(bash-completion/completions/attnbench completion bash)
print(zsh/site-functions/_attnbench completion zsh)
print(fish/vendor_completions.d/attnbench.fish completion fish)

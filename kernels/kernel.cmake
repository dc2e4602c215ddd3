# attn_kernel(NAME ISA...): compiles kernels/NAME.c, or NAME/NAME.c of a kernel with a folder, once
# per ISA, each as an OBJECT target of its own with that ISA's flags, and adds the variants to the
# registry.
#
#   LINK TARGET... libraries that the objects need
#
# An ISA that the compiler cannot target is left out, and said so once.

# The one place that knows compiler flags per ISA.  -mprefer-vector-width: GCC and Clang would
# otherwise split autovectorised loops of the avx512 variants into halves.
set(ATTN_FLAGS_baseline "")
set(ATTN_FLAGS_avx2 -march=x86-64-v3)
set(ATTN_FLAGS_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
set(ATTN_FLAGS_avx512_bf16 -march=x86-64-v4 -mavx512bf16 -mprefer-vector-width=512)

function(attn_isa_compiles isa out)
  string(REPLACE ";" " " flags "${ATTN_FLAGS_${isa}}")
  set(CMAKE_REQUIRED_FLAGS "${flags} -Werror")
  set(CMAKE_REQUIRED_QUIET ON)
  check_c_source_compiles("int main(void) { return 0; }" ATTN_COMPILES_${isa})
  if(NOT ATTN_COMPILES_${isa})
    get_property(said GLOBAL PROPERTY ATTN_SAID_${isa})
    if(NOT said)
      message(STATUS "Compiler cannot target ${isa}: its variants are left out")
      set_property(GLOBAL PROPERTY ATTN_SAID_${isa} TRUE)
    endif()
  endif()
  set(${out} ${ATTN_COMPILES_${isa}} PARENT_SCOPE)
endfunction()

function(attn_kernel name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  set(source ${name}.c)
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${name})
    set(source ${name}/${name}.c)
  endif()
  foreach(isa IN LISTS arg_UNPARSED_ARGUMENTS)
    attn_isa_compiles(${isa} compiles)
    if(NOT compiles)
      continue()
    endif()
    string(TOUPPER ${isa} ISA)
    set(target kernel_${name}_${isa})
    add_library(${target} OBJECT ${source})
    target_compile_options(${target} PRIVATE ${ATTN_FLAGS_${isa}})
    target_compile_definitions(${target} PRIVATE ATTN_KERNEL=attn_kernel_${name}_${isa}
                                                 ATTN_KERNEL_ISA=ATTN_ISA_${ISA})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE attnbench_options OpenMP::OpenMP_C ${arg_LINK})
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF
                                               POSITION_INDEPENDENT_CODE ON)
    target_sources(attention PRIVATE $<TARGET_OBJECTS:${target}>)
    set_property(GLOBAL APPEND_STRING PROPERTY ATTN_REGISTRY "ENTRY(${name}, ${isa})\n")
    set_property(GLOBAL APPEND PROPERTY ATTN_VARIANTS "${name}/${isa}")
    set_property(GLOBAL APPEND PROPERTY ATTN_OBJECTS
                 "attn_kernel_${name}_${isa}=$<TARGET_OBJECTS:${target}>")
  endforeach()
  if(arg_LINK)
    target_link_libraries(attention PRIVATE ${arg_LINK})
  endif()
endfunction()

# Writes the registry that registry.c includes; call after the last attn_kernel().
function(attn_write_registry)
  get_property(entries GLOBAL PROPERTY ATTN_REGISTRY)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/registry_list.h CONTENT "${entries}")
endfunction()

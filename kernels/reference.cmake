# Compiles reference.c once per ISA, as kernel.cmake does with kernels: a full check spends its
# time there.  reference_isa.c picks from reference_list.h.
function(attn_reference)
  set(entries "")
  foreach(isa IN LISTS ARGN)
    attn_isa_compiles(${isa} compiles)
    if(NOT compiles)
      continue()
    endif()
    string(TOUPPER ${isa} ISA)
    set(target reference_${isa})
    add_library(${target} OBJECT reference.c)
    target_compile_options(${target} PRIVATE ${ATTN_FLAGS_${isa}})
    target_compile_definitions(${target} PRIVATE ATTN_REFERENCE=attn_reference_${isa})
    target_link_libraries(${target} PRIVATE attnbench_options OpenMP::OpenMP_C)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF
                                               POSITION_INDEPENDENT_CODE ON)
    target_sources(attention PRIVATE $<TARGET_OBJECTS:${target}>)
    set_property(GLOBAL APPEND PROPERTY ATTN_OBJECTS
                 "attn_reference_${isa}=$<TARGET_OBJECTS:${target}>")
    string(APPEND entries "ENTRY(${isa}, ${ISA})\n")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/reference_list.h CONTENT "${entries}")
endfunction()

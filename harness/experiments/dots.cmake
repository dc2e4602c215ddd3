# Compiles dots_lanes.c once per ISA, as probe.cmake does with the probes, and lists the results for
# dots.c: DOTS(isa) per line of dots_list.h.
set(dots_entries "")
foreach(isa baseline avx2 avx512)
  attn_isa_compiles(${isa} compiles)
  if(compiles)
    string(TOUPPER ${isa} ISA)
    add_library(dots_${isa} OBJECT experiments/dots_lanes.c)
    target_compile_options(dots_${isa} PRIVATE ${ATTN_FLAGS_${isa}})
    target_compile_definitions(dots_${isa} PRIVATE DOTS=dots_${isa} DOTS_ISA=ATTN_ISA_${ISA})
    target_include_directories(dots_${isa} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
                                                   ${PROJECT_SOURCE_DIR}/kernels)
    target_link_libraries(dots_${isa} PRIVATE attnbench_options)
    set_target_properties(dots_${isa} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    target_sources(harness PRIVATE $<TARGET_OBJECTS:dots_${isa}>)
    string(APPEND dots_entries "DOTS(${isa})\n")
  endif()
endforeach()
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/dots_list.h CONTENT "${dots_entries}")

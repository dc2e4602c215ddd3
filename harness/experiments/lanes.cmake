# experiment_lanes(NAME MACRO SOURCE ISA...): compiles SOURCE once per ISA, as probe.cmake does with
# the probes, with MACRO naming its external symbol NAME_ISA, and lists the results in NAME_list.h:
# MACRO(isa) per line.
function(experiment_lanes name macro source)
  set(entries "")
  foreach(isa IN LISTS ARGN)
    attn_isa_compiles(${isa} compiles)
    if(compiles)
      string(TOUPPER ${isa} ISA)
      set(target lanes_${name}_${isa})
      add_library(${target} OBJECT ${source})
      target_compile_options(${target} PRIVATE ${ATTN_FLAGS_${isa}})
      target_compile_definitions(${target} PRIVATE ${macro}=${name}_${isa}
                                                   ${macro}_ISA=ATTN_ISA_${ISA})
      target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
                                                   ${PROJECT_SOURCE_DIR}/kernels)
      target_link_libraries(${target} PRIVATE attnbench_options)
      set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
      target_sources(harness PRIVATE $<TARGET_OBJECTS:${target}>)
      string(APPEND entries "${macro}(${isa})\n")
    endif()
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}_list.h CONTENT "${entries}")
endfunction()

experiment_lanes(dots DOTS experiments/dots_lanes.c baseline avx2 avx512)
experiment_lanes(exp EXP_LANES experiments/exp_lanes.c baseline avx2 avx512)

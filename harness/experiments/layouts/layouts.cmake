# The kernels of the experiment layouts, linked behind padding: attnbench_layouts/BYTES.so for each number
# of layouts_list.h, and 0.so with none.  The objects are those of the library, compiled once.
set(layout_bytes 16 32 48 1104 2144 3504) # places in a cache line of 64 bytes, here and pages apart
set(layout_kernels flash split_kv tiled)

set(layout_entries "")
set(layout_modules "")
foreach(bytes 0 ${layout_bytes})
  set(module attnbench_layout_${bytes})
  # An OBJECT library, as the kernels are: CMake links those before a target's own sources, in the
  # order in which they are named.
  add_library(${module}_padding OBJECT experiments/layouts/padding.c)
  target_compile_definitions(${module}_padding PRIVATE LAYOUT_BYTES=${bytes})
  target_link_libraries(${module}_padding PRIVATE attnbench_options)
  set(objects $<TARGET_OBJECTS:${module}_padding>)
  set(f64_objects "")
  foreach(kernel IN LISTS layout_kernels)
    foreach(isa ${ATTN_BASELINE} avx2 avx512)
      if(TARGET attn_kernel_${kernel}_${isa})
        list(APPEND objects $<TARGET_OBJECTS:attn_kernel_${kernel}_${isa}>)
      endif()
      if(TARGET attn_kernel_${kernel}_${isa}_f64) # which those name; behind what is timed
        list(APPEND f64_objects $<TARGET_OBJECTS:attn_kernel_${kernel}_${isa}_f64>)
      endif()
    endforeach()
  endforeach()
  add_library(${module} MODULE ${objects} ${f64_objects} base/build.c) # of which build: module.h looks
  target_link_libraries(${module} PRIVATE attnbench_options PkgConfig::JANSSON OpenMP::OpenMP_C m)
  set_target_properties(${module} PROPERTIES
    PREFIX "" OUTPUT_NAME ${bytes} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/attnbench_layouts)
  list(APPEND layout_modules ${module})
  if(bytes)
    string(APPEND layout_entries "${bytes},\n")
  endif()
endforeach()
add_custom_target(attnbench_layouts DEPENDS ${layout_modules})
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/layouts_list.h CONTENT "${layout_entries}")

# What the build needs, each probed with a message that says what to install.

function(attnbench_require what found debian)
  if(NOT ${found})
    message(FATAL_ERROR "${what} not found. Debian and Ubuntu: apt-get install ${debian} "
                        "(scripts/setup installs everything)")
  endif()
endfunction()

find_package(PkgConfig)
attnbench_require("pkg-config" PKG_CONFIG_FOUND pkg-config)
find_package(OpenMP COMPONENTS C)
attnbench_require("OpenMP for ${CMAKE_C_COMPILER_ID}" OpenMP_C_FOUND "gcc (or libomp-dev for Clang)")
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
attnbench_require("hwloc" HWLOC_FOUND libhwloc-dev)
pkg_check_modules(JANSSON IMPORTED_TARGET jansson>=2.12)
attnbench_require("jansson >= 2.12" JANSSON_FOUND libjansson-dev)
pkg_check_modules(LIBMD IMPORTED_TARGET libmd) # SHA-256 of plug-ins
attnbench_require("libmd" LIBMD_FOUND libmd-dev)

# CBLAS: the OpenMP build of OpenBLAS where there is one, because its pthreads build starts
# threads as soon as it is loaded, also in the parent process that must have none.
find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas-openmp openblas blis)
find_library(CBLAS_LIBRARY NAMES openblas blis cblas PATH_SUFFIXES openblas-openmp blis-openmp)
if(CBLAS_INCLUDE_DIR AND CBLAS_LIBRARY)
  add_library(CBLAS::CBLAS INTERFACE IMPORTED)
  target_link_libraries(CBLAS::CBLAS INTERFACE ${CBLAS_LIBRARY})
  target_include_directories(CBLAS::CBLAS INTERFACE ${CBLAS_INCLUDE_DIR})
endif()
attnbench_require("CBLAS (OpenBLAS or BLIS)" CBLAS_LIBRARY libopenblas-openmp-dev)

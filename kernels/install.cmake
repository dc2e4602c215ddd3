# Installs the library: headers, a CMake package (find_package(attnbench), then link
# attnbench::attention) and a pkg-config file.  The archive is static: its users link what it needs.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/attnbench)

install(TARGETS attention EXPORT attnbench
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attnbench)
install(EXPORT attnbench NAMESPACE attnbench:: FILE attnbench-targets.cmake
        DESTINATION ${PACKAGE_DIR})

configure_file(attnbench-config.cmake.in attnbench-config.cmake @ONLY)
write_basic_package_version_file(attnbench-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/attnbench-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/attnbench-config-version.cmake
        DESTINATION ${PACKAGE_DIR})

# `cmake --install --prefix` chooses the prefix after this file is written.
file(RELATIVE_PATH PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(attnbench.pc.in attnbench.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/attnbench.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

// Definitions of what a newer compiler's headers expect of the C and C++ runtime, for a library that is to
// load with older ones (manylinux_2_28: glibc 2.28 and the libstdc++ of GCC 8). Linked into the library,
// these are taken instead of the versioned symbols of the build machine's runtime; a version script that
// keeps every symbol local hides them from all other libraries. The runtime itself stays the system's, so
// that exceptions cross library borders.
//
// The standard forbids user definitions in namespace std; these repeat what libstdc++ itself defines.

#include <new>
#include <sstream>

// GLIBC_2.32, read by shared_ptr to skip atomic instructions in a program with one thread. 0 means that there
// may be more, which is always right:
// https://www.gnu.org/software/libc/manual/html_node/Single_002dThreaded.html
extern "C" {
char __libc_single_threaded = 0;
}

namespace std {

// GLIBCXX_3.4.26: GCC 9 split the default constructors off those with a default argument.
template basic_stringbuf<char>::basic_stringbuf();
template basic_istringstream<char>::basic_istringstream();
template basic_ostringstream<char>::basic_ostringstream();
template basic_stringstream<char>::basic_stringstream();

// GLIBCXX_3.4.29: allocators of GCC 11 and later call it for a size that overflows.
void __throw_bad_array_new_length() { throw bad_array_new_length(); }

}  // namespace std

// This file is empty: the object library of the precompiled test header needs a source.

// Imported by whatever is compiled without optimization; needs no declarations.

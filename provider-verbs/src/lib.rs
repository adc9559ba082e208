//! A DAT provider over libibverbs and librdmacm; its contents come with a later version.

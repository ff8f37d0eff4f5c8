package main

// disk is what a directory lies on.
type disk struct {
	// kind is the name of the file system, such as ext4; empty when it is not known.
	kind string
	// free is how many bytes a user may still write.
	free uint64
	// remote: it is another machine's. fleeting: it does not outlive this machine or container.
	remote, fleeting bool
}

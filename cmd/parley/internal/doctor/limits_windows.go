package doctor

func maxOpenFiles() (uint64, bool) { return 0, false }

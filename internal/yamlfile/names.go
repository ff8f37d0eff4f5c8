package yamlfile

// Brief shortens an invalid name for a message.
func Brief(name string) string {
	const most = 64
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return name
}

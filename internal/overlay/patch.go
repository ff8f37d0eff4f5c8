package overlay

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Patch is a change of some files of the repository.
type Patch struct {
	Name  string
	About string // describes the bug in a sentence
	files []filePatch
}

// filePatch is the change of one file.
type filePatch struct {
	path  string // below the root of the repository
	hunks []hunk
}

// hunk replaces whole lines. Each line of its texts ends with a newline.
type hunk struct {
	header   string
	old, new string
}

// bugDir is the directory of the patches, below the root of the repository.
const bugDir = "torture/plants/bugs"

// Names returns the names of all patches below root, the root directory of the repository.
func Names(root string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, bugDir))
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".patch"))
	}
	return names, err
}

// Load returns the patch of a name.
func Load(root, name string) (*Patch, error) {
	text, err := os.ReadFile(filepath.Join(root, bugDir, name+".patch"))
	if err != nil {
		return nil, fmt.Errorf("no patch %q in %s", name, bugDir)
	}
	return Parse(name, string(text))
}

// hunkHeader has two counts of lines. A missing count is 1.
var hunkHeader = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// Parse reads a patch: a description, and a unified diff of existing files.
func Parse(name, text string) (*Patch, error) {
	p := &Patch{Name: name}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); {
		line, used, err := lines[i], 1, error(nil)
		switch {
		case strings.HasPrefix(line, "diff --git "), strings.HasPrefix(line, "index "):
		case strings.HasPrefix(line, "--- "):
			file := strings.TrimPrefix(line, "--- a/")
			if i+1 == len(lines) || lines[i+1] != "+++ b/"+file {
				err = fmt.Errorf("expected: --- a/FILE and +++ b/FILE of the same file")
			}
			p.files = append(p.files, filePatch{path: file})
			used = 2
		case len(p.files) == 0:
			p.About = strings.TrimSpace(p.About + " " + line)
		default:
			f := &p.files[len(p.files)-1]
			var h hunk
			h, used, err = parseHunk(lines[i:])
			f.hunks = append(f.hunks, h)
		}
		if err != nil {
			return nil, fmt.Errorf("patch %s, line %d: %w: %q", name, i+1, err, line)
		}
		i += used
	}
	if p.About == "" || len(p.files) == 0 {
		return nil, fmt.Errorf("patch %s: expected: a description and a unified diff", name)
	}
	return p, nil
}

// parseHunk reads a hunk at the beginning of lines, and returns how many lines it has.
func parseHunk(lines []string) (h hunk, used int, err error) {
	m := hunkHeader.FindStringSubmatch(lines[0])
	if m == nil {
		return h, 0, fmt.Errorf("expected: the header of a hunk")
	}
	h.header = lines[0]
	before, after := lineCount(m[1]), lineCount(m[2])
	for used = 1; before > 0 || after > 0; used++ {
		if used == len(lines) {
			return h, 0, fmt.Errorf("the hunk has fewer lines than its header says")
		}
		line := lines[used]
		switch {
		case strings.HasPrefix(line, " "):
			h.old, h.new = h.old+line[1:]+"\n", h.new+line[1:]+"\n"
			before, after = before-1, after-1
		case strings.HasPrefix(line, "-"):
			h.old += line[1:] + "\n"
			before--
		case strings.HasPrefix(line, "+"):
			h.new += line[1:] + "\n"
			after--
		default:
			return h, 0, fmt.Errorf("line %d of the hunk is neither context nor a change", used)
		}
	}
	if h.old == "" || before < 0 || after < 0 {
		return h, 0, fmt.Errorf("the hunk has no old text, or more lines than its header says")
	}
	return h, used, nil
}

func lineCount(text string) int {
	if text == "" {
		return 1
	}
	n, _ := strconv.Atoi(text) // the pattern of the header admits only digits
	return n
}

// apply returns text after the change. It ignores line numbers: the old text of each hunk must occur
// once.
func (f *filePatch) apply(text string) (string, error) {
	for i, h := range f.hunks {
		lines, old := "\n"+text, "\n"+h.old
		at := strings.Index(lines, old)
		switch {
		case at < 0:
			return "", fmt.Errorf("hunk %d: its old text is not in the file: %s", i+1, h.header)
		case strings.Contains(lines[at+1:], old):
			return "", fmt.Errorf("hunk %d: its old text is in the file twice: %s", i+1, h.header)
		}
		text = text[:at] + h.new + text[at+len(h.old):]
	}
	return text, nil
}

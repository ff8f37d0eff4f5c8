package main

import (
	"io"
	"os/exec"
	"testing"
)

// TestTreeCPUSeesLittle: many children that have used less than a clock tick each add up to what
// they have used together.
func TestTreeCPUSeesLittle(t *testing.T) {
	const children = 40
	child := `i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; echo; read x`
	cmd := exec.Command("sh", "-c", `n=0; while [ $n -lt 40 ]; do n=$((n+1)); sh -c '`+child+`' <&3 & done 3<&0; wait`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, children)); err != nil { // each says when it has done its work
		t.Fatal(err)
	}
	seen, err := treeCPU(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() // with that of its children
	if seen > used || seen < used/2 {
		t.Errorf("%s while they ran, and %s in the end: expected most of it to be seen", seen, used)
	}
}

package clitest

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// makeCertificates is the script command "certificates DIR DAYS [NAME...]": a new authority in
// ca.pem, and cert.pem and key.pem signed by it, for 127.0.0.1 and the names, that end in so many
// days.
func makeCertificates(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) >= 2, "certificates DIR DAYS [NAME...]")
	days, err := time.ParseDuration(args[1] + "h")
	ts.Check(err)
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	a := makeAuthority(ts.Check)
	ts.Check(os.WriteFile(filepath.Join(dir, "ca.pem"), a.PEM(), 0o600))
	a.Write(dir, 24*days, args[2:]...)
}

// sendHangup is the script command "hangup NAME": SIGHUP for a program that keeps running.
func sendHangup(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) == 1, "hangup NAME")
	p := ts.Value(processesKey{}).(map[string]*scriptProcess)[args[0]]
	ts.Check(p.cmd.Process.Signal(syscall.SIGHUP))
}

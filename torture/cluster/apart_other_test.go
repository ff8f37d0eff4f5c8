//go:build !linux

package cluster

import (
	"context"
	"net"
	"testing"

	"github.com/parleyhub/parley/internal/promise"
)

// apart is for Linux.
type apart struct{}

const clientsName = "clients"

func newApart(t testing.TB, _ int, ids ...promise.ID) *apart {
	t.Helper()
	promise.Left(t, "needs Linux, for networks and disks of the machines' own", ids...)
	return nil
}

func (*apart) place(string) place                                           { return nil }
func (*apart) dial(context.Context, string, string) (_ net.Conn, err error) { return nil, err }
func (*apart) do(func() error) (err error)                                  { return err }
func (*apart) lose(string, ...string)                                       {}
func (*apart) part(string, ...string)                                       {}
func (*apart) heal()                                                        {}
func (*apart) fail(...string)                                               {}
func (*apart) freeze([]*machine)                                            {}
func (*apart) cut(...string)                                                {}
func (*apart) restore(...string)                                            {}
func (*apart) fill(...string)                                               {}
func (*apart) free(...string)                                               {}
func (*apart) sync()                                                        {}
func (*apart) again()                                                       {}

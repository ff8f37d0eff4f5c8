// Package auth authenticates and authorizes the callers of a hub. A [Service] turns a token into a
// [Principal], keeps the hub's tokens in a reserved conversation, and checks what a principal may do.
//
//	p, err := service.Authenticate(ctx, token, "")
//	if err != nil {
//		return err
//	}
//	if err := service.Allow(p, parley.MethodTail); err != nil {
//		return err
//	}
//	c, err := service.Find(p, conversationID, false)
//
// # Locks
//
// tokens.folding is held while the log of tokens is read. tokens.mu is taken after the mutexes of
// conversations and turns. Neither is held during a call to another package.
package auth

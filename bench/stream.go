package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// dialStream connects to a hub as a program does that uses the sdk, and speaks as benchAgent.
func dialStream(ctx context.Context, hub *Child) (*wire.Stream, error) {
	s, err := wire.DialStream(ctx, hub.URL, nil)
	if err != nil {
		return nil, err
	}
	err = s.WriteFrame(fmt.Appendf(nil,
		`{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"token":"%s","agentId":"%s"}}`, hub.token, benchAgent))
	if err == nil {
		err = expectAnswer(s, `"ok":true`)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// createBy makes a conversation.
func createBy(s *wire.Stream, p *parley.CreateConversationParams) error {
	params, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := s.WriteFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"createConversation","params":%s}`,
		params)); err != nil {
		return err
	}
	return expectAnswer(s, `"result":{`)
}

func expectAnswer(s *wire.Stream, mark string) error {
	reply, err := s.ReadFrame(nil)
	if err == nil && !bytes.Contains(reply, []byte(mark)) {
		err = fmt.Errorf("unexpected answer: %.300s", reply)
	}
	return err
}

// Package jetstream keeps a journal that many hubs share, on NATS JetStream.
package jetstream

package cli

// EnvA2AToken has the credentials for a remote agent.
const EnvA2AToken = "PARLEY_A2A_TOKEN"

// EnvNATSPassword is that of the user whom the address of a shared log names.
const EnvNATSPassword = "PARLEY_NATS_PASSWORD"

// EnvDevToken is the admin token of a dev hub, where one is wished.
const EnvDevToken = "PARLEY_DEV_TOKEN"

// EnvEmbeddingsKey is the key of the server of embeddings, where it needs one.
const EnvEmbeddingsKey = "PARLEY_EMBEDDINGS_KEY"

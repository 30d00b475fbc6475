import { Client, type ClientConfig } from 'pg';

/** A message of PostgreSQL that pg emits as an event. pg's types lack it. */
interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/** A session of PostgreSQL that knows its server's version and encoding. Its loss never ends the process. */
export class Session extends Client {
  /** The major version of the server, or 0 if a pooler does not pass it on. */
  serverVersion = 0;
  /** The encoding of the database, or an empty text if a pooler does not pass it on. */
  serverEncoding = '';
  /** The first error of the connection. The error of a query does not always say why the connection was lost. */
  loss: Error | undefined;

  constructor(options: ClientConfig) {
    super(options);
    // pg's pool does not listen while a session is in use. Without a listener, the loss would end the process
    this.on('error', (error) => {
      this.loss ??= error;
    });
    this.connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName === 'server_version') this.serverVersion = Number.parseInt(parameterValue, 10);
      if (parameterName === 'server_encoding') this.serverEncoding = parameterValue;
    });
  }

  /** Ends the session immediately, even if a query still waits for its answer. PostgreSQL rolls back. */
  abandon(): void {
    void this.end();
  }
}

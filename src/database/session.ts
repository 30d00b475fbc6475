import { Client, type ClientConfig } from 'pg';

/** A message of PostgreSQL that pg passes on, but its types lack. */
interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/** A session of PostgreSQL that knows its server. If it is lost, at whatever moment, the process goes on. */
export class Session extends Client {
  /** The major version of the server, or 0 if a pooler does not pass it on. */
  serverVersion = 0;
  /** The encoding of the database, or an empty text if a pooler does not pass it on. */
  serverEncoding = '';
  /** The reason why the connection was lost. The error of the query that was lost with it has no SQLSTATE. */
  loss: Error | undefined;

  constructor(options: ClientConfig) {
    super(options);
    // pg's pool removes its own listener while a client is in use. Without a listener, a lost session ends the process.
    this.on('error', (error) => {
      this.loss ??= error;
    });
    this.connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName === 'server_version') this.serverVersion = Number.parseInt(parameterValue, 10);
      if (parameterName === 'server_encoding') this.serverEncoding = parameterValue;
    });
  }

  /** Ends the session immediately, although a query may still wait for its answer. PostgreSQL rolls back. */
  abandon(): void {
    void this.end();
  }
}

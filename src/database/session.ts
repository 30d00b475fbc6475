import { Client, type ClientConfig } from 'pg';

/** A message of PostgreSQL that pg emits as an event. pg's types lack it. */
interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/** A connection to PostgreSQL that knows the server's version and encoding. If it is lost, the process goes on. */
export class Session extends Client {
  /** The major version of the server, or 0 if a pooler does not pass it on. */
  serverVersion = 0;
  /** The encoding of the database, or an empty text if a pooler does not pass it on. */
  serverEncoding = '';
  /** The first error of the connection. If the connection is lost, the error of the query may not say why. */
  loss: Error | undefined;

  constructor(options: ClientConfig) {
    super(options);
    // While a session is in use, pg's pool does not listen for errors, so without this listener a loss ends the process
    this.on('error', (error) => {
      this.loss ??= error;
    });
    this.connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName === 'server_version') this.serverVersion = Number.parseInt(parameterValue, 10);
      if (parameterName === 'server_encoding') this.serverEncoding = parameterValue;
    });
  }

  /** Ends the session immediately, even if a query waits. Unless COMMIT was sent, PostgreSQL rolls back. */
  abandon(): void {
    void this.end(); // if a query is active, pg destroys the socket
  }
}

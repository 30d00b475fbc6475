import { Inject, Injectable } from '@nestjs/common';
import type { ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { Configuration } from '../configuration/configuration.js';
import { type DatabaseAddress, connectionString } from '../configuration/database-url.js';

/**
 * What DATABASE_URL or the file DATABASE_URL_FILE says of connections. They are read apart from the connections, since
 * the pool makes a connection where nobody could catch an error of the variables or of a file that they name.
 */
@Injectable()
export class ConnectionSettings {
  private settings: ClientConfig;

  /** @throws like `refresh` */
  constructor(@Inject(Configuration) private readonly address: DatabaseAddress) {
    this.settings = settingsOf(address);
  }

  /**
   * Reads them anew, with the files that they name, so that another password counts without a restart.
   * @throws Error with the fault, without any part of a password. The former settings stay
   */
  refresh(): void {
    this.settings = settingsOf(this.address);
  }

  /** As they were read last. */
  get current(): ClientConfig {
    return this.settings;
  }
}

const settingsOf = (address: DatabaseAddress): ClientConfig => parseIntoClientConfig(connectionString(address));

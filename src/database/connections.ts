import { Injectable } from '@nestjs/common';
import type { DataSourceOptions } from 'typeorm';
import { Configuration } from '../configuration/configuration.js';
import { ApiKey } from './entities/api-key.entity.js';
import { AreaProperty } from './entities/area-property.entity.js';
import { CodeListValue } from './entities/code-list-value.entity.js';
import { CommunicationCode } from './entities/communication-code.entity.js';
import { CONNECT_TIMEOUT_MS, QUERY_TIMEOUT_MS, Session, type SessionOptions } from './session.js';

/** The sessions of the service: two in a pool, so that keys can be read during a long reading of codes, and one for the change watch. */
@Injectable()
export class Connections {
  private readonly sessions = new Set<Session>();

  constructor(private readonly configuration: Configuration) {}

  /** A separate session, not yet connected. */
  session(options: Omit<SessionOptions, 'address' | 'sessions'>): Session {
    return new Session({ ...options, address: this.configuration, sessions: this.sessions });
  }

  /** Closes all sessions. Called when one session got no answer for too long: the others would wait in vain as well. */
  cut(): void {
    for (const session of this.sessions) session.destroy();
  }

  get poolOptions(): DataSourceOptions & { manualInitialization: true } {
    return {
      type: 'postgres',
      entities: [CodeListValue, AreaProperty, CommunicationCode, ApiKey],
      synchronize: false,
      migrationsRun: false,
      logging: false,
      manualInitialization: true, // the first reading connects, so that the service can start without the database
      poolSize: 2,
      connectTimeoutMS: CONNECT_TIMEOUT_MS,
      poolErrorHandler: () => undefined, // an idle session ended: the pool makes a new one, and the change watch logs that the database is away
      extra: {
        Client: Session,
        address: this.configuration,
        sessions: this.sessions,
        query_timeout: QUERY_TIMEOUT_MS,
        idleTimeoutMillis: 30_000,
      },
    };
  }
}

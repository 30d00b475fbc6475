import { Injectable } from '@nestjs/common';
import type { DataSourceOptions } from 'typeorm';
import { Configuration } from '../configuration/configuration.js';
import { ApiKey } from './entities/api-key.entity.js';
import { AreaProperty } from './entities/area-property.entity.js';
import { CodeListValue } from './entities/code-list-value.entity.js';
import { CommunicationCode } from './entities/communication-code.entity.js';
import { CONNECT_TIMEOUT_MS, QUERY_TIMEOUT_MS, Session, type SessionOptions } from './session.js';

/** The sessions of the service: two of a pool, so that a list of keys is read while a long list of codes is, and the one that watches for changes. */
@Injectable()
export class Connections {
  private readonly sessions = new Set<Session>();

  constructor(private readonly configuration: Configuration) {}

  /** A session of its own, not connected yet. */
  session(options: Omit<SessionOptions, 'address' | 'sessions'>): Session {
    return new Session({ ...options, address: this.configuration, sessions: this.sessions });
  }

  /** Cuts all sessions: where one heard nothing for too long, the others would wait in vain as well. */
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
      manualInitialization: true, // connected by the first reading: the service starts without the database
      poolSize: 2,
      connectTimeoutMS: CONNECT_TIMEOUT_MS,
      poolErrorHandler: () => undefined, // an idle session that ended: the pool makes a new one, and the watch says that the database is away
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

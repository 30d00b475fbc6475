import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ConnectionSettings } from './connection-settings.js';
import { DatabaseClock } from './database-clock.js';
import { DatabaseSessions } from './database-sessions.js';
import { DatabaseStatus } from './database-status.js';
import { poolOptions } from './session.js';

/** A module of its own, since both DatabaseModule and the module that TypeORM makes for the data source import it. */
@Module({ providers: [ConnectionSettings], exports: [ConnectionSettings] })
class ConnectionModule {}

@Module({
  imports: [
    ConnectionModule,
    TypeOrmModule.forRootAsync({
      imports: [ConnectionModule],
      inject: [ConnectionSettings],
      useFactory: poolOptions,
    }),
  ],
  providers: [DatabaseClock, DatabaseSessions, DatabaseStatus],
  exports: [ConnectionModule, DatabaseClock, DatabaseSessions, DatabaseStatus],
})
export class DatabaseModule {}

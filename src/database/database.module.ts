import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Configuration } from '../configuration/configuration.js';
import { parseDatabaseAddress } from '../configuration/database-url.js';
import { DatabaseClock } from './database-clock.js';
import { DatabaseSessions } from './database-sessions.js';
import { DatabaseStatus } from './database-status.js';
import { poolOptions } from './session.js';

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [Configuration],
      useFactory: (configuration: Configuration) => poolOptions(parseDatabaseAddress(configuration)),
    }),
  ],
  providers: [DatabaseClock, DatabaseSessions, DatabaseStatus],
  exports: [DatabaseClock, DatabaseSessions, DatabaseStatus],
})
export class DatabaseModule {}

import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Configuration } from '../configuration/configuration.js';
import { parseDatabaseAddress } from '../configuration/database-url.js';
import { DatabaseSessions } from './database-sessions.js';
import { poolOptions } from './session.js';

@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [Configuration],
      useFactory: (configuration: Configuration) => poolOptions(parseDatabaseAddress(configuration)),
    }),
  ],
  providers: [DatabaseSessions],
  exports: [DatabaseSessions],
})
export class DatabaseModule {}

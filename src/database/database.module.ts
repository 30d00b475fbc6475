import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Connections } from './connections.js';
import { DatabaseClock } from './database-clock.js';

@Global()
@Module({ providers: [Connections, DatabaseClock], exports: [Connections, DatabaseClock] })
class ConnectionsModule {}

@Module({
  imports: [
    ConnectionsModule,
    TypeOrmModule.forRootAsync({
      inject: [Connections],
      useFactory: ({ poolOptions }: Connections) => poolOptions,
    }),
  ],
})
export class DatabaseModule {}

import { Injectable } from '@nestjs/common';

/** Whether the process is about to end: the one state that readiness, replies and connections go by. It never goes back. */
@Injectable()
export class Draining {
  private begun = false;

  begin(): void {
    this.begun = true;
  }

  get hasBegun(): boolean {
    return this.begun;
  }
}

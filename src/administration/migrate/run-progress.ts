/** A file whose turn it is, with the SQL that PostgreSQL gets to run. */
export interface FileUnderWay {
  readonly name: string;
  readonly script: string;
}

/** How far a run is. The next file begins when the one before was committed. */
export class RunProgress {
  private readonly names: string[] = [];
  private underWay: FileUnderWay | undefined;

  get done(): readonly string[] {
    return this.names;
  }

  /** Undefined before the first file, and after the last one. */
  get current(): FileUnderWay | undefined {
    return this.underWay;
  }

  begin(file: FileUnderWay): void {
    this.finish();
    this.underWay = file;
  }

  finish(): void {
    if (this.underWay) this.names.push(this.underWay.name);
    this.underWay = undefined;
  }
}

/// The place where a backup is kept: objects by name, in a folder or in a bucket. Functions wait.
///
/// Names have the form of relative paths, such as `moments/20261123T073044.123Z.moment`.
package protocol BackupPlace: Sendable {
    /// The place as commands name it.
    var address: String { get }
    /// Whether asking for an object costs little: then each chunk is asked for before it is put. Otherwise what the newest moment names
    /// is taken to be there.
    var answersQuickly: Bool { get }
    /// The age in milliseconds below which an object stays that nothing names: somebody may be about to name it.
    var unnamedAgeMin: Int64 { get }

    /// Returns objects as a whole, nil for each that is not there.
    func read(_ names: [String]) throws(BackupError) -> [[UInt8]?]

    /// Returns the length of an object in bytes; nil if there is none.
    func length(of name: String) throws(BackupError) -> Int64?

    /// Puts an object as a whole: durable on return, and never seen in part.
    func put(_ name: String, _ bytes: [UInt8]) throws(BackupError)

    /// Puts an object as a whole at some time before `finishPuts` returns.
    func putLater(_ name: String, _ bytes: [UInt8]) throws(BackupError)

    /// Returns when all objects of `putLater` are durable.
    func finishPuts() throws(BackupError)

    /// Gives up what `putLater` was given, for a new attempt.
    func forgetPuts()

    /// Returns the objects below a folder, in the order of their names.
    func list(_ folder: String) throws(BackupError) -> [PlacedObject]

    /// Removes objects; those that are not there are no error.
    ///
    /// - Parameter isDurable: Whether they are gone for good on return.
    func remove(_ names: [String], isDurable: Bool) throws(BackupError)

    /// Makes the place, if it is not there.
    ///
    /// - Returns: Some of the names of what is in it.
    func prepare() throws(BackupError) -> [String]

    /// Keeps other processes from changing the backup until `unlock`.
    ///
    /// - Throws: `busy` if another process changes it.
    func lock() throws(BackupError)

    /// Called now and then while the lock is held.
    ///
    /// - Parameter isSure: Whether to ask even if it was asked a short time ago.
    /// - Throws: `busy` if another process has taken the lock, as one may that did not hear from this one for long.
    func keepLock(isSure: Bool) throws(BackupError)

    /// Lets other processes change the backup.
    func unlock()

    /// Returns the place for another thread, with puts of its own. The lock stays with this one.
    func companion() -> any BackupPlace
}

extension BackupPlace {
    /// Returns an object as a whole; nil if it is not there.
    package func read(_ name: String) throws(BackupError) -> [UInt8]? { try read([name])[0] }
}

/// An object in a list.
package struct PlacedObject: Hashable, Sendable {
    /// The whole name.
    package var name: String
    /// The number of bytes.
    package var length: Int64
    /// The time since it was put, in milliseconds; nil: not known, long enough.
    package var age: Int64?

    /// Creates a value with the given properties.
    package init(name: String, length: Int64, age: Int64? = nil) {
        self.name = name
        self.length = length
        self.age = age
    }
}

import CloudKitServer

/// The limits of requests' bodies that are kept in memory.
package struct BodyLimits: Hashable, Sendable {
    /// The bytes of a user's largest accepted body from our own SDK: the 2 MB of B-LIM-02, and some for base 64 and names.
    package var bytesMax: Int
    /// The bytes of a user's largest accepted body from other clients: the 2 MB of B-LIM-02 as they are sent.
    package var webBytesMax: Int
    /// The bytes of the largest accepted body of a request without a user, such as a sign-in.
    package var strangerBytesMax: Int
    /// The bytes that all bodies under way may hold; one user may have a quarter of them.
    package var heldBytesMax: Int
    /// Those of `heldBytesMax` that bodies of requests without a user may hold.
    package var strangerHeldBytesMax: Int

    /// Creates limits; by default 3 MiB for the body of a user's device, 2 MiB for that of a web client, and 128 MiB for all.
    package init(
        bytesMax: Int = 3 * 1024 * 1024, webBytesMax: Int = 2 * 1024 * 1024, strangerBytesMax: Int = 64 * 1024,
        heldBytesMax: Int = 128 * 1024 * 1024,
        strangerHeldBytesMax: Int = 16 * 1024 * 1024
    ) {
        self.bytesMax = bytesMax
        self.webBytesMax = webBytesMax
        self.strangerBytesMax = strangerBytesMax
        self.heldBytesMax = heldBytesMax
        self.strangerHeldBytesMax = strangerHeldBytesMax
    }

    /// Returns the bytes of a user's largest accepted body.
    func bytesMax(of surface: Caller.ClientKind) -> Int { surface == .native ? bytesMax : min(bytesMax, webBytesMax) }
}

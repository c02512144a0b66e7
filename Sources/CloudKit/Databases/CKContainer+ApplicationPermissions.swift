import Foundation

/// The permission to be found by other users (B-ACC-05), which is a setting of the account: `welkin discovery on` grants it, `off` denies it.
extension CKContainer {
    /// The permissions that an app may ask for.
    public struct ApplicationPermissions: OptionSet, Sendable {
        /// The bits of the options.
        public let rawValue: UInt

        /// Creates a set of options from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// To be found by others who use the app.
        @available(*, deprecated, message: "No longer supported; see CKFetchShareParticipantsOperation")
        public static let userDiscoverability = ApplicationPermissions(rawValue: 1)
    }

    /// The user's answer to a request for a permission.
    @available(*, deprecated, message: "No longer supported; see CKFetchShareParticipantsOperation")
    public enum ApplicationPermissionStatus: Int, Sendable {
        case initialState = 0
        case couldNotComplete = 1
        case denied = 2
        case granted = 3
    }

    /// The handler that receives the status of a permission.
    @available(*, deprecated, message: "No longer supported; see CKFetchShareParticipantsOperation")
    public typealias ApplicationPermissionBlock =
        @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void

    /// The names of earlier versions.
    public enum Application {
        /// A former name.
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
        /// A former name.
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        /// A former name.
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
        public typealias Permissions = CKContainer.ApplicationPermissions
    }
}

@available(*, deprecated, message: "No longer supported; see CKFetchShareParticipantsOperation")
extension CKContainer {
    /// Returns whether the user agreed to be found by others; `.initialState` if the person has not decided.
    ///
    /// - Throws: `CKError.notAuthenticated` when no user is signed in.
    nonisolated(nonsending) public func applicationPermissionStatus(
        for applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        let isDiscoverable = try await publicCloudDatabase.failing {
            try await publicCloudDatabase.requests().isDiscoverable()
        }
        return isDiscoverable.map { $0 ? .granted : .denied } ?? .initialState
    }

    /// Returns whether the user agreed to be found by others. A person who has not decided is not asked, because an app could
    /// answer in their place: the permission is then `.denied` until `welkin discovery on`.
    ///
    /// - Throws: `CKError.notAuthenticated` when no user is signed in.
    nonisolated(nonsending) public func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        let status = try await applicationPermissionStatus(for: applicationPermission)
        return status == .initialState ? .denied : status
    }

    /// ``applicationPermissionStatus(for:)`` with a handler, which is called on an arbitrary queue.
    @preconcurrency
    public func status(
        forApplicationPermission applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void
    ) {
        report(to: completionHandler) { try await $0.applicationPermissionStatus(for: applicationPermission) }
    }

    private func report(
        to completionHandler: @escaping @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void,
        _ body: @escaping @Sendable (CKContainer) async throws -> CKContainer.ApplicationPermissionStatus
    ) {
        Task {
            do {
                completionHandler(try await body(self), nil)
            } catch {
                completionHandler(.couldNotComplete, error)
            }
        }
    }

    /// ``requestApplicationPermission(_:)`` with a handler, which is called on an arbitrary queue.
    @preconcurrency
    public func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void
    ) {
        report(to: completionHandler) { try await $0.requestApplicationPermission(applicationPermission) }
    }
}

/// A former name.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock
/// A former name.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
/// A former name.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions

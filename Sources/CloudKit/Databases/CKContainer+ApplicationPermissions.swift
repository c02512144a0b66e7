import Foundation

/// Asking users whether others may find them (B-ACC-05): as since iOS 17, the answer is no.
extension CKContainer {
    /// What an app may ask of a user.
    public struct ApplicationPermissions: OptionSet, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// To be found by others who use the app.
        @available(*, deprecated, message: "No longer supported; see CKFetchShareParticipantsOperation")
        public static let userDiscoverability = ApplicationPermissions(rawValue: 1)
    }

    /// What a user said to it.
    @available(*, deprecated, message: "No longer supported; see CKFetchShareParticipantsOperation")
    public enum ApplicationPermissionStatus: Int, Sendable {
        case initialState = 0
        case couldNotComplete = 1
        case denied = 2
        case granted = 3
    }

    @available(*, deprecated, message: "No longer supported; see CKFetchShareParticipantsOperation")
    public typealias ApplicationPermissionBlock =
        @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void

    /// The names of earlier versions.
    public enum Application {
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        @available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
        public typealias Permissions = CKContainer.ApplicationPermissions
    }
}

@available(*, deprecated, message: "No longer supported; see CKFetchShareParticipantsOperation")
extension CKContainer {
    /// `.denied`, once somebody is signed in.
    ///
    /// - Throws: `CKError.notAuthenticated` when nobody is.
    nonisolated(nonsending) public func applicationPermissionStatus(
        for applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        _ = try await userRecordID()
        return .denied
    }

    /// `.denied`, once somebody is signed in; nobody is asked.
    ///
    /// - Throws: `CKError.notAuthenticated` when nobody is.
    nonisolated(nonsending) public func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        try await applicationPermissionStatus(for: applicationPermission)
    }

    /// ``applicationPermissionStatus(for:)`` with a handler, which is called on an arbitrary queue.
    @preconcurrency
    public func status(
        forApplicationPermission applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping @Sendable (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void
    ) {
        Task {
            do {
                completionHandler(try await applicationPermissionStatus(for: applicationPermission), nil)
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
        status(forApplicationPermission: applicationPermission, completionHandler: completionHandler)
    }
}

@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions

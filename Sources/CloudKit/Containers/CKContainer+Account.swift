import CloudKitClient
import CloudKitModel
import Foundation

extension CKContainer {
    /// Returns the availability of the user's account on this device, without a request.
    nonisolated(nonsending) public func accountStatus() async throws -> CKAccountStatus {
        _ = try place()
        return CKAccountStatus(connection.cloud.account.state)
    }

    /// Returns the availability of the user's account on this device, without a request.
    @preconcurrency
    public func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
        let standIn = ContainerStandIn.ofTask
        operations.addOperation { [self] in
            ContainerStandIn.$ofTask.withValue(standIn) { report(to: completionHandler) }
        }
    }

    private func report(to completionHandler: @Sendable (CKAccountStatus, (any Error)?) -> Void) {
        do {
            _ = try place()
            completionHandler(CKAccountStatus(connection.cloud.account.state), nil)
        } catch {
            completionHandler(.couldNotDetermine, error)
        }
    }

    private func place() throws -> ContainerEndpoint {
        do {
            return try connection.cloud.place.get()
        } catch {
            throw CKError(error)
        }
    }

    /// Returns the ID of the user's own record, different in every container (B-USR-01).
    ///
    /// - Throws: `CKError.notAuthenticated` when no user is signed in (B-ACC-04).
    nonisolated(nonsending) public func userRecordID() async throws -> CKRecord.ID {
        let requests = privateCloudDatabase.requests()
        do {
            let user = try await requests.currentUser()
            return CKRecord.ID(recordName: user.recordName)
        } catch {
            throw CKError(CallFailure(error))
        }
    }

    /// The ID of the user's own record, different in every container (B-USR-01).
    @preconcurrency
    public func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
        complete(to: completionHandler) { try await $0.userRecordID() }
    }
}

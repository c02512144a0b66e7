import CloudKitDevice

extension ContainerConnection {
    /// The user whose long-lived operations the device may run; nil: none.
    package var longLivedOwner: LongLivedOwner? {
        guard case .available(let device, _) = cloud.account.state else { return nil }
        return LongLivedOwner(email: device.email, userRecordName: cloud.account.userRecordName)
    }
}

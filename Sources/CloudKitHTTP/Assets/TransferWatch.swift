import NIOCore

extension MinimumTransferRate {
    /// Closes the connection once a transfer is too slow; to be cancelled when the transfer ends.
    func watch(_ count: TransferredByteCount, on channel: any Channel) async {
        var last = count.value
        while (try? await Task.sleep(for: interval)) != nil {
            let current = count.value
            guard current - last >= bytesMin else {
                channel.close(promise: nil)
                return
            }
            last = current
        }
    }
}
